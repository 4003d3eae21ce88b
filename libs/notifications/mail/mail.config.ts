import { IsBoolean, IsOptional, ValidateBy } from 'class-validator';
import { ReadableFile, Setting } from '#config/setting.js';
import { isSmtpUrl } from './smtp-address.js';

const ADDRESS = /^[^\s@<>"\p{C}]{1,64}@[^\s@<>"\p{C}]{1,190}$/u;
const NAMED = /^[^<>"\p{C}]{0,100}<([^<>]+)>$/u;

/** Whether a text is an email address, or a name followed by an address in angle brackets. */
function isSender(text: string): boolean {
  return ADDRESS.test(NAMED.exec(text)?.[1] ?? text);
}

/** The SMTP server for outgoing email, and the sender. */
export class MailConfig {
  @Setting(
    'SMTP_URL',
    'SMTP server for invitations, password resets, and alerts: smtp://user:password@host:587 for STARTTLS, ' +
      'smtps://user:password@host:465 for TLS from the start; ?name= is the name for EHLO; unset = no email is sent.',
    { who: 'rules', unit: 'URL', secret: true },
  )
  @IsOptional()
  @ValidateBy({
    name: 'smtpUrl',
    validator: {
      validate: (value) => typeof value === 'string' && isSmtpUrl(value),
      defaultMessage: () =>
        'SMTP_URL must look like smtp://user:password@host:587, or smtps://user:password@host:465, with user and ' +
        'password or neither, special characters percent-encoded, and no parameter but ?name=host.example.org',
    },
  })
  readonly smtpUrl?: string;

  @Setting('MAIL_FROM', 'Sender of all emails, such as Darkroom <darkroom@example.org>; required with SMTP_URL.', {
    who: 'rules',
  })
  @ValidateBy({
    name: 'sender',
    validator: {
      validate: (value: unknown, args) =>
        value === undefined
          ? (args?.object as MailConfig).smtpUrl === undefined
          : typeof value === 'string' && isSender(value),
      defaultMessage: () =>
        'MAIL_FROM must be an email address, or a name and <address>, and is required with SMTP_URL',
    },
  })
  readonly mailFrom?: string;

  @Setting('SMTP_CA_FILE', 'CA certificates (PEM) for verifying the SMTP server; unset = the public CAs.', {
    who: 'rules',
    unit: 'path',
  })
  @IsOptional()
  @ReadableFile()
  readonly smtpCaFile?: string;

  @Setting(
    'SMTP_REQUIRE_TLS',
    'Whether TLS is required; false sends passwords and email unencrypted if the SMTP server does not support STARTTLS.',
    { who: 'rules' },
  )
  @IsBoolean()
  readonly smtpRequireTls: boolean = true;
}
