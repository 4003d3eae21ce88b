import { Module } from '@nestjs/common';
import { Mailer } from './mailer.js';

/** Sends mail, where MailConfig names a server. */
@Module({ providers: [Mailer], exports: [Mailer] })
export class MailModule {}
