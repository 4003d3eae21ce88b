import { loadConfig } from '#config/load-config.js';
import { MailConfig } from '#mail/mail.config.js';
import { Mailer } from '#mail/mailer.js';
import { Logger } from '#telemetry/logger.js';

/** Signs in to the configured SMTP server and returns the sender. Throws ConfigError or MailNotSent. */
export async function mailServer(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const [config] = loadConfig([MailConfig], env);
  await new Mailer(config, new Logger('command', 'silent')).check();
  return `accepts email from ${config.mailFrom ?? ''}`;
}
