import { InvalidArgumentError, Option } from 'commander';
import { KEY_SCOPES, KEY_TASKS, type ApiKeySettings, type KeyScope, type KeyTasks } from '#accounts/api-keys.js';
import { END_USER_MODES, type EndUserMode } from '#accounts/end-users.js';
import { MAX_KEPT_SECONDS, MIN_KEPT_SECONDS } from '#contract/kept-seconds.js';
import { distinctTags, tagsIn, tagsProblem } from '#contract/labels.js';

/** What a key may be used for, which tasks it sees, for whom these are, and how long they are kept. */
type KeyUse = Pick<ApiKeySettings, 'scopes' | 'tasks' | 'endUsers' | 'tags' | 'keepSeconds'>;

/** Values of the options; undefined = not given. */
export interface KeyUseOptions {
  readonly scopes?: readonly KeyScope[];
  readonly tasks?: KeyTasks;
  readonly endUsers?: EndUserMode;
  readonly tags?: readonly string[];
  readonly keepSeconds?: number | 'default';
}

/** An option for each. */
export function keyUseOptions(): Option[] {
  return [
    new Option('--scopes <scopes>', `what it may be used for: ${KEY_SCOPES.join(', ')} with commas, or all`).argParser(
      scopesIn,
    ),
    new Option('--tasks <which>', 'tasks that it may see and cancel: all of its account, or its own').choices(
      KEY_TASKS,
    ),
    new Option('--end-users <mode>', 'what happens to identifiers of end users (docs/end-users.md)').choices(
      END_USER_MODES,
    ),
    new Option('--tags <tags>', 'tags of all its requests, with commas, or none').argParser(tagsOf),
    new Option('--keep-seconds <number>', 'how long its tasks are kept, or default').argParser(secondsIn),
  ];
}

/** The settings that were given. */
export function keyUseSettings({ keepSeconds, ...options }: KeyUseOptions): Partial<KeyUse> {
  const { scopes, tasks, endUsers, tags } = options;
  return {
    ...(scopes === undefined ? {} : { scopes }),
    ...(tasks === undefined ? {} : { tasks }),
    ...(endUsers === undefined ? {} : { endUsers }),
    ...(tags === undefined ? {} : { tags }),
    ...(keepSeconds === undefined ? {} : { keepSeconds: keepSeconds === 'default' ? null : keepSeconds }),
  };
}

/** The same, named as in the console's audit log. */
export function keyUseChanges(options: KeyUseOptions): Record<string, unknown> {
  const { endUsers, keepSeconds, ...others } = keyUseSettings(options);
  return {
    ...others,
    ...(endUsers === undefined ? {} : { end_users: endUsers }),
    ...(keepSeconds === undefined ? {} : { keep_seconds: keepSeconds }),
  };
}

/** `, its own tasks only, only images chat, ...`; only values that differ from the defaults. */
export function keyUseText({ scopes, tasks, endUsers, tags, keepSeconds }: KeyUse): string {
  return [
    ...(tasks === 'all' ? [] : ['its own tasks only']),
    ...(scopes.length === 0 ? [] : [`only ${scopes.join(' ')}`]),
    ...(endUsers === 'off' ? [] : [`end users ${endUsers}`]),
    ...(tags.length === 0 ? [] : [`tags ${tags.join(' ')}`]),
    ...(keepSeconds === null ? [] : [`tasks kept for ${keepSeconds} s`]),
  ]
    .map((part) => `, ${part}`)
    .join('');
}

function scopesIn(given: string): readonly KeyScope[] {
  if (given === 'all') return [];
  const names = tagsIn(given);
  const isKnown = names.every((name) => KEY_SCOPES.some((scope) => scope === name));
  if (names.length === 0 || !isKnown)
    throw new InvalidArgumentError(`It must list some of ${KEY_SCOPES.join(', ')}, or be all.`);
  return KEY_SCOPES.filter((scope) => names.includes(scope));
}

function tagsOf(given: string): readonly string[] {
  if (given === 'none') return [];
  const tags = distinctTags(tagsIn(given));
  const problem = tagsProblem(tags, 'They');
  if (problem !== undefined) throw new InvalidArgumentError(`${problem.message}.`);
  if (tags.length === 0) throw new InvalidArgumentError('It must list tags, or be none.');
  return tags;
}

function secondsIn(given: string): number | 'default' {
  if (given === 'default') return given;
  const seconds = /^\d{1,9}$/.test(given) ? Number(given) : NaN;
  if (seconds >= MIN_KEPT_SECONDS && seconds <= MAX_KEPT_SECONDS) return seconds;
  throw new InvalidArgumentError(`It must be ${MIN_KEPT_SECONDS} to ${MAX_KEPT_SECONDS} seconds, or default.`);
}
