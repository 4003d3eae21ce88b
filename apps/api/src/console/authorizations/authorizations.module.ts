import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { OAuthModule } from '../../oauth/oauth.module.js';
import { KeysModule } from '../keys/keys.module.js';
import { AuthorizationsController } from './authorizations.controller.js';
import { AuthorizeClient } from './authorize-client.js';

/** The consent of users to MCP clients. */
@Module({
  imports: [AccountsModule, KeysModule, OAuthModule],
  controllers: [AuthorizationsController],
  providers: [AuthorizeClient],
})
export class AuthorizationsModule {}
