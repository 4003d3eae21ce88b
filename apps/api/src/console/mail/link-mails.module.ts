import { Module } from '@nestjs/common';
import { MailModule } from '#mail/mail.module.js';
import { LinkMails } from './link-mails.js';

/** Emails with one-time links. */
@Module({ imports: [MailModule], providers: [LinkMails], exports: [LinkMails] })
export class LinkMailsModule {}
