import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { DEFAULT_RESPONSE_FORMATS, type DefaultResponseFormat } from '#contract/accepted-values.js';

/** The account that owns everything until accounts are told apart; made by the first migration. */
export const DEFAULT_ACCOUNT = 'acct_default';

/** Where keys come from that nobody created in the console: the first start, and an operator's command. */
export const KEY_MAKERS = ['setup', 'command'] as const;
export type KeyMaker = (typeof KEY_MAKERS)[number];

/** Characters of a key that are stored and shown, and the share of a short foreign key that may be. */
const PREFIX_LENGTH = 12;
const PREFIX_SHARE = 1 / 4;

/**
 * What a key may be used for. `images`: to make images, upload references, and read and cancel tasks;
 * `tasks`: only to read tasks; `chat`: for chats, and with `images` for images in chats.
 */
export const KEY_SCOPES = ['images', 'tasks', 'chat'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** What can be set for one key. */
export interface ApiKeySettings {
  /** Turns in the queue, relative to other keys; at least 1. */
  readonly weight: number;
  /** These three: 0 = any number, null = as many as the deployment allows each key. */
  readonly submitsPerMinute: number | null;
  readonly pollsPerMinute: number | null;
  readonly tasksInFlight: number | null;
  /** Models it may use; empty means all. */
  readonly models: readonly string[];
  /** What it may be used for; empty means everything. */
  readonly scopes: readonly KeyScope[];
  /** What `response_format` is when a request does not say; null = as the account, or else the deployment, has it. */
  readonly defaultResponseFormat: DefaultResponseFormat | null;
  /** Whether generations take `<w>x<h>` sizes; null = as the deployment has it. */
  readonly allowPixelSize: boolean | null;
  readonly submitMode: 'sync' | 'apimart';
  readonly expiresAt: Date | null;
}

/** What the list of keys shows; never the key. */
export interface ApiKeyRow extends ApiKeySettings {
  readonly id: string;
  readonly name: string;
  readonly prefix: string;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  /** To the minute; null = never. */
  readonly lastUsedAt: Date | null;
  /** Who made it in the console; null = nobody did, or a version that did not keep it. */
  readonly createdBy: { readonly id: string; readonly name: string } | null;
  /** What made it in place of a person; null = a person, or a version that did not keep it. */
  readonly madeBy: KeyMaker | null;
  /** Id of the key that a rotation made in its place. */
  readonly replacedBy: string | null;
}

/** A key that is to be made. */
export interface NewApiKey {
  readonly name: string;
  readonly accountId?: string;
  /** What is left out is as usual. */
  readonly settings?: Partial<ApiKeySettings>;
  /** Id of the person who makes it in the console, or what else does. */
  readonly createdBy?: string | null;
}

/** The `default_response_format` column of a key's or an account's row; null for what is none. */
export function storedResponseFormat(text: string | null): DefaultResponseFormat | null {
  return DEFAULT_RESPONSE_FORMATS.find((format) => format === text) ?? null;
}

/** `sk-dr-` and 256 random bits. */
export function newApiKey(): string {
  return `sk-dr-${randomBytes(32).toString('base64url')}`;
}

/** What is stored of a key: its HMAC-SHA-256 under a key of its own, derived from SECRET_KEY. */
export function hashApiKey(secretKey: string, key: string): Buffer {
  const pepper = Buffer.from(hkdfSync('sha256', secretKey, '', 'api-key', 32));
  return createHmac('sha256', pepper).update(key).digest();
}

/** What is shown of a key. */
export function prefixOf(key: string): string {
  return key.slice(0, Math.min(PREFIX_LENGTH, Math.floor(key.length * PREFIX_SHARE)));
}
