import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import { Logger } from '#telemetry/logger.js';
import { SignInModule } from '../sign-in/sign-in.module.js';
import { CodeCheck } from './code-check.js';
import { CodeSignIn } from './code-sign-in.js';
import { CodeSignInController } from './code-sign-in.controller.js';
import { TwoFactorController } from './two-factor.controller.js';

/** Two-factor authentication of users. */
@Module({
  imports: [AccountsModule, SignInModule],
  controllers: [CodeSignInController, TwoFactorController],
  providers: [CodeCheck, CodeSignIn],
})
export class TwoFactorModule implements OnApplicationBootstrap {
  constructor(
    private readonly factors: SecondFactorStore,
    private readonly logger: Logger,
  ) {}

  /** Runs in the background: secrets under the previous SECRET_KEY keep working, and the next start tries again. */
  onApplicationBootstrap(): void {
    this.factors.reencrypt().catch((error: unknown) => this.logger.warn('second_factors.not_sealed', { error }));
  }
}
