import { loadConfig } from '#config/load-config.js';
import { MailConfig } from '#mail/mail.config.js';
import { Mailer } from '#mail/mailer.js';
import { Logger } from '#telemetry/logger.js';

/** Whom mail is sent from, once the SMTP server of the settings has let us in. Throws ConfigError or MailNotSent. */
export async function mailServer(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const [config] = loadConfig([MailConfig], env);
  await new Mailer(config, new Logger('command', 'silent')).check();
  return `accepts email from ${config.mailFrom ?? ''}`;
}
