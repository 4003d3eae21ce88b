/** Types of alert messages: firing (also when it gets worse or continues), resolved, or a test of the channel. */
export const ALERT_MESSAGES = ['alert.firing', 'alert.resolved', 'alert.test'] as const;
export type AlertMessageType = (typeof ALERT_MESSAGES)[number];

/** The conditions that raise alerts. */
export const ALERT_KINDS = [
  'budget',
  'failure_rate',
  'webhook_failing',
  'provider_down',
  'queue_wait',
  'overall_failure_rate',
  'approval_waiting',
  'end_user_abuse',
  'unmatched_notice',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** How alerts are delivered: an ordinary webhook, one in Slack's format, or email. */
export const CHANNEL_KINDS = ['webhook', 'slack', 'email'] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

/**
 * The message sent to a channel: the envelope of every webhook, and sentences for people. Never contains prompts,
 * images, or secrets.
 */
export interface AlertMessage {
  /** The same for all channels, attempts, and resends of a message. */
  readonly id: string;
  readonly object: 'event';
  readonly type: AlertMessageType;
  /** Unix seconds. */
  readonly created_at: number;
  /** ISO 8601 */
  readonly timestamp: string;
  readonly data: {
    /** The same for all messages of an alert; null for a test. */
    readonly alert_id: string | null;
    readonly kind: AlertKind | null;
    /** Name of the key, account, or provider that the alert is about. */
    readonly subject: string | null;
    readonly title: string;
    /** What happened, how severe it is, and what to do. */
    readonly text: string;
    /** ISO 8601; null for a test. */
    readonly started_at: string | null;
    /** ISO 8601; null while the alert is firing. */
    readonly resolved_at: string | null;
    /** Console page that shows the cause: stored as a path, sent as a URL. */
    readonly url: string;
  };
}

/** The body for Slack and services compatible with its webhooks. */
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

/** Escapes the three characters that are special in Slack messages. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
