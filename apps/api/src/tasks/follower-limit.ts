import { Injectable } from '@nestjs/common';
import { ApiConfig } from '../common/api.config.js';
import { OpenLimit } from '../common/open-limit.js';

/** The open long polls and event streams of each account on this process, up to `ACCOUNT_FOLLOWERS`. */
@Injectable()
export class FollowerLimit extends OpenLimit {
  constructor({ accountFollowers }: ApiConfig) {
    super(accountFollowers, 'open long polls and event streams');
  }
}
