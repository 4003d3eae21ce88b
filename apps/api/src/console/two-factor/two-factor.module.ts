import { Module, type OnApplicationBootstrap } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import { Logger } from '#telemetry/logger.js';
import { SignInModule } from '../sign-in/sign-in.module.js';
import { CodeCheck } from './code-check.js';
import { CodeSignIn } from './code-sign-in.js';
import { CodeSignInController } from './code-sign-in.controller.js';
import { TwoFactorController } from './two-factor.controller.js';

/** What people have beside their password. */
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

  /** Not waited for: secrets under the previous SECRET_KEY work as they are, and the next start tries again. */
  onApplicationBootstrap(): void {
    this.factors.sealAnew().catch((error: unknown) => this.logger.warn('second_factors.not_sealed', { error }));
  }
}
