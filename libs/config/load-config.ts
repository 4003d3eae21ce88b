import { validateSync } from 'class-validator';
import { REMOVED_SETTINGS } from './removed-settings.js';
import { settingsOf, type SettingDescription } from './setting.js';

type ConfigClass<T extends object = object> = new () => T;
type Environment = Readonly<Record<string, string | undefined>>;

/** All problems of the settings, by name; of values, paths alone are shown. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  constructor(readonly problems: readonly string[]) {
    super(`Invalid settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** Node's own setting; with it, anybody on the way could read keys, prompts and images, and answer as a provider. */
const NO_CHECKS =
  'NODE_TLS_REJECT_UNAUTHORIZED must not be 0, which turns off every check of a certificate: name an authority of your ' +
  'own in NODE_EXTRA_CA_CERTS';

/** Reads one frozen instance per class from the environment. Throws ConfigError with every problem of every class. */
export function loadConfig<const T extends readonly ConfigClass[]>(
  classes: T,
  env: Environment,
): { [K in keyof T]: InstanceType<T[K]> } {
  const problems = env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0' ? [NO_CHECKS] : [];
  const instances = classes.map((configClass) => {
    const instance = new configClass();
    for (const setting of settingsOf(configClass)) {
      const text = env[setting.env];
      if (text === undefined || text.trim() === '') continue;
      const value = parse(text.trim(), setting);
      if (setting.shared === true && !isUsable(configClass, setting, value)) continue;
      if (value === undefined)
        problems.push(`${setting.env} must be ${setting.type === Number ? 'a number' : 'true or false'}`);
      else Object.assign(instance, { [setting.property]: value });
    }
    problems.push(...violations(configClass, instance));
    return Object.freeze(instance);
  });
  if (problems.length > 0) throw new ConfigError(problems);
  return instances as { [K in keyof T]: InstanceType<T[K]> };
}

function parse(text: string, setting: SettingDescription & { type: unknown }): unknown {
  if (setting.list)
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  if (setting.type === Number) return Number.isFinite(Number(text)) ? Number(text) : undefined;
  if (setting.type === Boolean)
    return text === 'true' || text === '1' ? true : text === 'false' || text === '0' ? false : undefined;
  return text;
}

/** Whether a value alone passes the rules of its setting; rules that involve others are not for shared settings. */
function isUsable(configClass: ConfigClass, { property }: { property: string }, value: unknown): boolean {
  if (value === undefined) return false;
  const instance = Object.assign(new configClass(), { [property]: value });
  return !validateSync(instance, { forbidUnknownValues: false }).some((failure) => failure.property === property);
}

function violations(configClass: ConfigClass, instance: object): string[] {
  const names = new Map(settingsOf(configClass).map((setting) => [setting.property, setting.env]));
  return validateSync(instance, { forbidUnknownValues: false }).flatMap((failure) =>
    Object.values(failure.constraints ?? {}).map((text) =>
      text.replace(failure.property, names.get(failure.property) ?? failure.property),
    ),
  );
}

/** A name in the environment that has no effect: probably a misspelling, removed, or with a value that can't be used. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting that it most likely is. */
  readonly meant?: string;
  /** What became of it, if it was removed. */
  readonly now?: string;
}

/**
 * Names in the environment that were settings, those that are almost the name of one, and so most likely misspelled, and
 * those that are also set for other programs, with values that can't be used here.
 */
export function unknownSettings(classes: readonly ConfigClass[], env: Environment): UnknownSetting[] {
  return [...ignoredSettings(classes, env), ...removedSettings(env), ...misspelledSettings(classes, env)];
}

function removedSettings(env: Environment): UnknownSetting[] {
  return Object.entries(REMOVED_SETTINGS).flatMap(([name, now]) =>
    (env[name]?.trim() ?? '') === '' ? [] : [{ name, now }],
  );
}

function ignoredSettings(classes: readonly ConfigClass[], env: Environment): UnknownSetting[] {
  return classes.flatMap((configClass) =>
    settingsOf(configClass).flatMap((setting) => {
      const text = env[setting.env]?.trim() ?? '';
      if (setting.shared !== true || text === '' || isUsable(configClass, setting, parse(text, setting))) return [];
      return [{ name: setting.env }];
    }),
  );
}

function misspelledSettings(classes: readonly ConfigClass[], env: Environment): UnknownSetting[] {
  const known = classes.flatMap((configClass) => settingsOf(configClass).map((setting) => setting.env));
  return Object.keys(env).flatMap((name) => {
    if (known.includes(name) || name in REMOVED_SETTINGS) return [];
    const near = known
      .filter((candidate) => candidate.length > 4)
      .map((meant) => ({ name, meant, distance: distance(meant, name) }))
      .filter((candidate) => candidate.distance <= 2)
      .sort((a, b) => a.distance - b.distance);
    return near.slice(0, 1).map(({ meant }) => ({ name, meant }));
  });
}

/** A warning about an unknown setting. */
export function unknownText({ name, meant, now }: UnknownSetting): string {
  if (now !== undefined) return `${name} is no longer a setting, and is ignored: it is ${now}.`;
  if (meant === undefined) return `${name} has a value that can't be used here, and is ignored.`;
  return `${name} is not a setting. Did you mean ${meant}?`;
}

/**
 * Why a process can't start, for its standard error: all problems of its settings, and likely misspellings; or any
 * other error, with its stack if LOG_LEVEL is debug.
 */
export function startFailure(error: unknown, classes: readonly ConfigClass[], env: Environment): string {
  if (!(error instanceof ConfigError)) return (env['LOG_LEVEL'] === 'debug' && stackOf(error)) || String(error);
  const misspelled = unknownSettings(classes, env).map((setting) => `  - ${unknownText(setting)}`);
  return [error.message, ...misspelled].join('\n');
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}

/** Problems and likely misspellings of settings, without values. */
export interface SettingsReport {
  readonly problems: readonly string[];
  readonly unknown: readonly UnknownSetting[];
}

/** Checks the settings of a process without starting it. */
export function reportSettings(classes: readonly ConfigClass[], env: Environment): SettingsReport {
  const unknown = unknownSettings(classes, env);
  try {
    loadConfig(classes, env);
    return { problems: [], unknown };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problems: error.problems, unknown };
  }
}

/** Levenshtein distance; returns 3 without computing it when the lengths differ by more than two. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 3;
}
