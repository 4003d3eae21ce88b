import { Module } from '@nestjs/common';
import { PeopleModule } from '../../common/people.module.js';
import { ImagesModule } from '../../images/images.module.js';
import { PlaygroundController } from './playground.controller.js';

/** Pictures that are ordered on the console's own page. */
@Module({ imports: [ImagesModule, PeopleModule], controllers: [PlaygroundController] })
export class PlaygroundModule {}
