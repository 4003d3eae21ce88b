/** The events of a provider's webhook that are about an end user. */
export const SAFETY_EVENTS = ['safety.warning_issued', 'safety.deactivation_issued'] as const;
type SafetyEvent = (typeof SAFETY_EVENTS)[number];

/** A provider's webhook about an end user. */
export interface SafetyNotice {
  readonly provider: string;
  /** The webhook's own. */
  readonly id: string;
  readonly type: SafetyEvent;
  readonly caseId: string;
}

/** A notice whose case is to be read. */
export interface DueNotice extends SafetyNotice {
  /** Including this one. */
  readonly tries: number;
  readonly receivedAt: Date;
}

/** What a notice came to: applied, about an end user whom no account has, or with a case that could not be read. */
export type NoticeOutcome = 'applied' | 'unknown' | 'unreadable';

/** A notice that nobody's end user was found for. */
export interface UnmatchedNotice extends SafetyNotice {
  readonly outcome: 'unknown' | 'unreadable';
  readonly endUser: string | null;
}
