import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { OAuthController } from './oauth.controller.js';
import { OAuthUrls } from './oauth-urls.js';

/** Authorization of MCP clients with OAuth 2.1; the console's page for it is in `console/authorizations`. */
@Module({
  imports: [AccountsModule, LimitsModule],
  controllers: [OAuthController],
  providers: [OAuthUrls],
  exports: [OAuthUrls],
})
export class OAuthModule {}
