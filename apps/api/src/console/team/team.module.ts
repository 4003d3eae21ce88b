import { Module } from '@nestjs/common';
import { PeopleModule } from '../../common/people.module.js';
import { Invitations } from './invitations.js';
import { TeamController } from './team.controller.js';

/** The people of an account, and who is asked to join them. */
@Module({
  imports: [PeopleModule],
  controllers: [TeamController],
  providers: [Invitations],
  exports: [Invitations],
})
export class TeamModule {}
