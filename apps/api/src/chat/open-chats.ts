import { Injectable } from '@nestjs/common';
import { OpenLimit } from '../common/open-limit.js';
import { ChatConfig } from './chat.config.js';

/** The chats in progress of each account on this process, up to `ACCOUNT_OPEN_CHATS`. */
@Injectable()
export class OpenChats extends OpenLimit {
  constructor({ accountChats }: ChatConfig) {
    super(accountChats, 'chats in progress');
  }
}
