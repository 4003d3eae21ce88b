import { Body, Delete, Get, HttpCode, Ip, Param, Patch, Post, UseGuards, UseInterceptors } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { PasskeyStore } from '#accounts/passkey-store.js';
import { AppError } from '#contract/app-error.js';
import { IdParam } from '../../common/params.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Cookies } from '../console-cookie.js';
import { CookiesInterceptor, type WithCookies } from '../cookies.interceptor.js';
import { NameBody } from '../dto/name-body.dto.js';
import { Session } from '../session.decorator.js';
import { ProofGuard } from '../proof.guard.js';
import { ProofBody } from './dto/sign-in-bodies.dto.js';
import { PasswordGuard } from './password.guard.js';
import { ProfileLimits } from './profile-limits.js';
import { SignInChanges } from './sign-in-changes.js';
import { NewPasskeyBody, PasskeyListView, PasskeyOptionsView } from './dto/passkeys.dto.js';
import { PasskeyView, passkeyView } from './dto/passkeys.dto.js';
import { NewPasskeys } from './new-passkeys.js';

/** The passkeys of the signed-in user. */
@ConsoleController('Passkeys', 'passkeys')
@Allow('self.manage')
@UseInterceptors(CookiesInterceptor)
export class PasskeysController {
  constructor(
    private readonly passkeys: PasskeyStore,
    private readonly newPasskeys: NewPasskeys,
    private readonly audit: AuditLog,
    private readonly changes: SignInChanges,
    private readonly limits: ProfileLimits,
  ) {}

  @Get()
  @ApiResponse({ status: 200, type: PasskeyListView })
  async list(@Session() { signInId }: Session): Promise<PasskeyListView> {
    return { data: (await this.passkeys.list(signInId)).map(passkeyView) };
  }

  @Post('options')
  @UseGuards(PasswordGuard)
  @HttpCode(200)
  @ApiResponse({ status: 200, type: PasskeyOptionsView })
  async begin(
    @Session() session: Session,
    @Ip() address: string,
    @Body() { password }: ProofBody,
  ): Promise<WithCookies<PasskeyOptionsView>> {
    return await this.newPasskeys.begin(address, session, password);
  }

  @Post()
  @UseGuards(PasswordGuard)
  @ApiResponse({ status: 201, type: PasskeyView })
  async add(
    @Session() session: Session,
    @Cookies() cookies: Cookies,
    @Body() body: NewPasskeyBody,
  ): Promise<WithCookies<PasskeyView>> {
    const added = await this.newPasskeys.finish(session, cookies, body);
    await this.changes.record(session, 'person.passkey_added', added.body.id, { name: added.body.name });
    return added;
  }

  @Patch(':id')
  @ApiResponse({ status: 200, type: PasskeyView })
  async rename(
    @Session() session: Session,
    @Param() { id }: IdParam,
    @Body() { name }: NameBody,
  ): Promise<PasskeyView> {
    await this.limits.admit(session.signInId);
    const passkey = await this.passkeys.rename(session.signInId, id, name);
    if (passkey === undefined) throw noPasskey();
    await this.audit.record(session, 'person.passkey_renamed', id, { name });
    return passkeyView(passkey);
  }

  @Delete(':id')
  @UseGuards(ProofGuard)
  @RouteConfig({ bodyless: true })
  @HttpCode(204)
  async remove(@Session() session: Session, @Param() { id }: IdParam): Promise<void> {
    const passkey = await this.passkeys.remove(session.signInId, id);
    if (passkey === undefined) throw noPasskey();
    await this.changes.record(session, 'person.passkey_removed', id, { name: passkey.name });
  }
}

function noPasskey(): AppError {
  return new AppError('not_found', 'Passkey not found.');
}
