import { Module } from '@nestjs/common';
import { Mailer } from './mailer.js';

/** Sends email if MailConfig names a server. */
@Module({ providers: [Mailer], exports: [Mailer] })
export class MailModule {}
