import { loadConfig } from '#config/load-config.js';
import { MailConfig } from '#notifications/mail/mail.config.js';
import { introducedAs, Mailer } from '#notifications/mail/mailer.js';
import { Logger } from '#telemetry/logger.js';

/** Signs in to the configured SMTP server and returns its name and the sender. Throws ConfigError or MailNotSent. */
export async function mailServer(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const [config] = loadConfig([MailConfig], env);
  await new Mailer(config, new Logger('command', 'silent')).check();
  return `accepts the sign-in of ${introducedAs(config) ?? '[127.0.0.1]'}; email comes from ${config.mailFrom ?? ''}`;
}
