import { Module } from '@nestjs/common';
import { PublicFetcher } from './fetch-public-url.js';
import { OperatorPoster } from './post-operator-url.js';
import { PublicPoster } from './post-public-url.js';

/** The only way to reach addresses that came from outside, and services that settings name. */
@Module({
  providers: [PublicFetcher, PublicPoster, OperatorPoster],
  exports: [PublicFetcher, PublicPoster, OperatorPoster],
})
export class EgressModule {}
