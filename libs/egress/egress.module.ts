import { Module } from '@nestjs/common';
import { PublicFetcher } from './fetch-public-url.js';
import { PublicPoster } from './post-public-url.js';

/** The only way to reach addresses that came from outside. */
@Module({ providers: [PublicFetcher, PublicPoster], exports: [PublicFetcher, PublicPoster] })
export class EgressModule {}
