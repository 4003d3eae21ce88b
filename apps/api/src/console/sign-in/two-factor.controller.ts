import { Body, Get, HttpCode, Ip, Post, UseGuards } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { SecondFactorStore } from '#accounts/second-factor-store.js';
import { AppError } from '#contract/app-error.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { ProofGuard } from '../proof.guard.js';
import { PasswordGuard } from './password.guard.js';
import { PasswordSignIn } from './password-sign-in.js';
import { signedIn } from './sign-in-limits.js';
import { SignInChanges } from './sign-in-changes.js';
import { CodeCheck } from './code-check.js';
import { AuthenticatorView, CodeBody, RecoveryCodesView, TurnOffBody } from './dto/two-factor.dto.js';
import { TwoFactorView, twoFactorView } from './dto/two-factor.dto.js';

/** The authenticator app of the signed-in user. */
@ConsoleController('Two-factor authentication', 'two-factor')
@Allow('self.manage')
export class TwoFactorController {
  constructor(
    private readonly factors: SecondFactorStore,
    private readonly check: CodeCheck,
    private readonly passwords: PasswordSignIn,
    private readonly changes: SignInChanges,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: TwoFactorView })
  async state(@Session() { signInId }: Session): Promise<TwoFactorView> {
    return twoFactorView(await this.factors.state(signInId));
  }

  @Post()
  @UseGuards(PasswordGuard, ProofGuard)
  @RouteConfig({ bodyless: true })
  @ApiResponse({ status: 201, type: AuthenticatorView, description: 'Replaces an unconfirmed one.' })
  async begin(@Session() session: Session): Promise<AuthenticatorView> {
    if (!session.hasPassword)
      throw new AppError('not_permitted', 'Codes are required only after a password, and you have none.');
    const authenticator = await this.factors.begin(session.signInId, session.email);
    if (authenticator === undefined) throw new AppError('already_exists', 'Two-factor authentication is already on.');
    return authenticator;
  }

  @Post('confirm')
  @UseGuards(ProofGuard)
  @ApiResponse({ status: 201, type: RecoveryCodesView })
  async confirm(
    @Session() session: Session,
    @Ip() address: string,
    @Body() { code }: CodeBody,
  ): Promise<RecoveryCodesView> {
    const recovery_codes = await this.check.confirm(address, session.signInId, code);
    await this.changes.record(session, 'person.second_factor_added', session.personId);
    return { recovery_codes };
  }

  @Post('recovery-codes')
  @UseGuards(ProofGuard)
  @ApiResponse({ status: 201, type: RecoveryCodesView, description: 'Earlier codes stop working.' })
  async renew(
    @Session() session: Session,
    @Ip() address: string,
    @Body() { code }: CodeBody,
  ): Promise<RecoveryCodesView> {
    await this.check.take(address, personOf(session), code, signedIn(session.signInId));
    const recovery_codes = await this.factors.renewRecoveryCodes(session.signInId);
    await this.changes.record(session, 'person.recovery_codes_renewed', session.personId);
    return { recovery_codes };
  }

  @Post('remove')
  @UseGuards(PasswordGuard)
  @HttpCode(204)
  async remove(
    @Session() session: Session,
    @Ip() address: string,
    @Body() { password, code }: TurnOffBody,
  ): Promise<void> {
    await this.passwords.verifyPassword(address, session, password);
    await this.check.take(address, personOf(session), code, signedIn(session.signInId));
    await this.factors.remove(session.signInId);
    await this.changes.record(session, 'person.second_factor_removed', session.personId);
  }
}

function personOf({ personId: id, signInId, accountId, name, email }: Session) {
  return { id, signInId, accountId, name, email };
}
