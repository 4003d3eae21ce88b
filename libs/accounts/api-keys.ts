import { randomBytes } from 'node:crypto';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';
import type { EndUserMode } from './end-users.js';

/** The account that owns everything until more accounts exist; created by the baseline migration. */
export const DEFAULT_ACCOUNT = 'acct_default';

/** What creates keys outside the console: the first start, and an operator's command. */
export const KEY_MAKERS = ['setup', 'command'] as const;
export type KeyMaker = (typeof KEY_MAKERS)[number];

/** How many characters of a key are stored and shown, and at most which share of a short key from elsewhere. */
const PREFIX_LENGTH = 12;
const PREFIX_SHARE = 1 / 4;

/**
 * What a key may be used for. `images`: generate images, upload references, and read and cancel tasks; `tasks`: only
 * read tasks; `chat`: chats, and with `images` also images in chats; `approve`: decide about requests of other keys that wait
 * for an approval, which a key without scopes may not.
 */
export const KEY_SCOPES = ['images', 'tasks', 'chat', 'approve'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/**
 * Which tasks a key may see and cancel. `all`: those that its user may see in the console, or all of the account if no
 * user made it; `own`: only those that it made, or a key that it replaced or was replaced by.
 */
export const KEY_TASKS = ['all', 'own'] as const;
export type KeyTasks = (typeof KEY_TASKS)[number];

/** How generations respond: with the image, or at once with a task id. */
export const SUBMIT_MODES = ['sync', 'apimart'] as const;
export type SubmitMode = (typeof SUBMIT_MODES)[number];

/** Settings of one key. */
export interface ApiKeySettings {
  /** Share of the queue relative to other keys; at least 1. */
  readonly weight: number;
  /** These three: 0 = unlimited, null = the deployment's default for each key. */
  readonly submitsPerMinute: number | null;
  readonly pollsPerMinute: number | null;
  readonly tasksInFlight: number | null;
  /** Models that it may use; empty = all. */
  readonly models: readonly string[];
  /** What it may be used for; empty = everything but `approve`. */
  readonly scopes: readonly KeyScope[];
  readonly tasks: KeyTasks;
  /** Default for `response_format`; null = the account's default, or else the deployment's. */
  readonly defaultResponseFormat: DefaultResponseFormat | null;
  /** How long its tasks are kept, from their acceptance; null = the account's default, or as retention has it. */
  readonly keepSeconds: number | null;
  /** Whether generations accept `<w>x<h>` sizes; null = the deployment's default. */
  readonly allowPixelSize: boolean | null;
  readonly submitMode: SubmitMode;
  /** The only region that may serve its requests; null = any. */
  readonly region: string | null;
  /** What a request may cost without an approval, in millionths; null = any amount, if its account says no less. */
  readonly approveAboveMicros: number | null;
  /** What happens to the identifiers of end users. */
  readonly endUsers: EndUserMode;
  /** Tags of all its requests. */
  readonly tags: readonly string[];
  readonly expiresAt: Date | null;
}

/** A key as lists show it, without its secret. */
export interface ApiKeyRow extends ApiKeySettings {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** To the minute; null = never. */
  readonly lastUsedAt: Date | null;
  /** The user who created it in the console; null = not created in the console. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  /** What created it instead of a user; null = a user. */
  readonly madeBy: KeyMaker | null;
  /** Id of the key that replaced it by rotation. */
  readonly replacedBy: string | null;
  /** What a client calls itself that its user has authorized; null = a key with a secret. */
  readonly oauthClient: string | null;
  /** Id of the first key of those that it counts as one with; null = itself. */
  readonly originalKeyId: string | null;
}

/** A key to create. */
export interface NewApiKey {
  readonly name: string;
  readonly accountId?: string;
  /** Settings that are left out have their defaults. */
  readonly settings?: Partial<ApiKeySettings>;
  /** Id of the user who creates it in the console, or what else does. */
  readonly createdBy?: string | null;
}

/** The `default_response_format` column of a key's or an account's row; null for an unknown value. */
export function storedResponseFormat(text: string | null): DefaultResponseFormat | null {
  return DEFAULT_RESPONSE_FORMATS.find((format) => format === text) ?? null;
}

/** The `tasks` column of a key's row; the narrower one for a value of a later version. */
export function storedKeyTasks(text: string): KeyTasks {
  return text === 'all' ? 'all' : 'own';
}

/** The `submit_mode` column of a key's row; `sync` for an unknown value. */
export function storedSubmitMode(text: string | null): SubmitMode {
  return SUBMIT_MODES.find((mode) => mode === text) ?? 'sync';
}

/** Whether a key is revoked or expired. */
export function hasEnded({ expiresAt, revokedAt }: Pick<ApiKeyRow, 'expiresAt' | 'revokedAt'>): boolean {
  return revokedAt !== null || (expiresAt !== null && expiresAt <= new Date());
}

/** `sk-dr-` and 256 random bits. */
export function newApiKey(): string {
  return `sk-dr-${randomBytes(32).toString('base64url')}`;
}

/** The part of a key that may be shown. */
export function prefixOf(key: string): string {
  return key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length * PREFIX_SHARE)));
}
