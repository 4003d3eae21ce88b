import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { SignInModule } from '../sign-in/sign-in.module.js';
import { LinkMailsModule } from '../mail/link-mails.module.js';
import { Invitations } from './invitations.js';
import { TeamController } from './team.controller.js';

/** The users of an account, and its invitations. */
@Module({
  imports: [AccountsModule, LinkMailsModule, SignInModule],
  controllers: [TeamController],
  providers: [Invitations],
  exports: [Invitations],
})
export class TeamModule {}
