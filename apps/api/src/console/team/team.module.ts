import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { Invitations } from './invitations.js';
import { TeamController } from './team.controller.js';

/** The people of an account, and who is asked to join them. */
@Module({
  imports: [AccountsModule],
  controllers: [TeamController],
  providers: [Invitations],
  exports: [Invitations],
})
export class TeamModule {}
