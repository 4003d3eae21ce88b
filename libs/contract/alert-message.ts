/** What is told of an alert: that it fires (or gets worse, or still does), that it is over, or that a channel works. */
export const ALERT_MESSAGES = ['alert.firing', 'alert.resolved', 'alert.test'] as const;
export type AlertMessageType = (typeof ALERT_MESSAGES)[number];

/** What an alert is about. */
export const ALERT_KINDS = ['budget', 'failure_rate', 'provider_down', 'queue_wait', 'overall_failure_rate'] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** How an alert reaches people: by a webhook as every other, by one in the shape of Slack's, or by email. */
export const CHANNEL_KINDS = ['webhook', 'slack', 'email'] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

/** What a channel is told: the envelope of every webhook, and sentences for people. Never a prompt, an image or a secret. */
export interface AlertMessage {
  /** The same for all channels, attempts and resends of one message. */
  readonly id: string;
  readonly object: 'event';
  readonly type: AlertMessageType;
  /** Unix seconds. */
  readonly created_at: number;
  /** ISO 8601 */
  readonly timestamp: string;
  readonly data: {
    /** The same for all messages of one alert; null: a test. */
    readonly alert_id: string | null;
    readonly kind: AlertKind | null;
    /** What it is about: the name of a key, account or provider. */
    readonly subject: string | null;
    readonly title: string;
    /** What happened, how bad it is, and what to do. */
    readonly text: string;
    /** ISO 8601; null: a test. */
    readonly started_at: string | null;
    /** ISO 8601; null while it fires. */
    readonly resolved_at: string | null;
    /** The page of the console that shows the cause. Kept as a path, sent as an address. */
    readonly url: string;
  };
}

/** The body that Slack and those that take its webhooks understand. */
export function slackBody({ type, data: { title, text, url } }: AlertMessage): object {
  const mark = { 'alert.firing': ':red_circle:', 'alert.resolved': ':large_green_circle:', 'alert.test': ':bell:' };
  const section = (words: string) => ({ type: 'section', text: { type: 'mrkdwn', text: words } });
  return {
    text: escaped(title),
    blocks: [
      section(`${mark[type]} *${escaped(title)}*`),
      section(escaped(text)),
      section(`<${url}|Open in Darkroom>`),
    ],
  };
}

/** The three characters that Slack reads as its own. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
