import { Module } from '@nestjs/common';
import { MailModule } from '#notifications/mail/mail.module.js';
import { LimitsModule } from '../../limits/limits.module.js';
import { LinkMails } from './link-mails.js';
import { MailLimits } from './mail-limits.js';

/** Emails with one-time links, and how many an account may send. */
@Module({ imports: [MailModule, LimitsModule], providers: [LinkMails, MailLimits], exports: [LinkMails, MailLimits] })
export class LinkMailsModule {}
