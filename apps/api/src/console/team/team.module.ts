import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { LinkMailsModule } from '../mail/link-mails.module.js';
import { Invitations } from './invitations.js';
import { TeamController } from './team.controller.js';

/** The people of an account, and who is asked to join them. */
@Module({
  imports: [AccountsModule, LinkMailsModule],
  controllers: [TeamController],
  providers: [Invitations],
  exports: [Invitations],
})
export class TeamModule {}
