import { Module } from '@nestjs/common';
import { AccountsModule } from '#accounts/accounts.module.js';
import { ImagesModule } from '../../images/images.module.js';
import { PlaygroundController } from './playground.controller.js';

/** Images that are ordered on the console's own page. */
@Module({ imports: [ImagesModule, AccountsModule], controllers: [PlaygroundController] })
export class PlaygroundModule {}
