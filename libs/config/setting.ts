import { readFileSync } from 'node:fs';
import { IsInt, Max, Min, ValidateBy } from 'class-validator';
import 'reflect-metadata';

/** Who sets a setting: everybody at the start, or whoever has one of these. docs/operations.md has a table for each. */
type SettingGroup = 'start' | 'provider' | 'processes' | 'traffic' | 'rules' | 'debugging';

/** Describes a setting, for parsing and for docs/operations.md. */
export interface SettingDescription {
  /** Name of the environment variable. */
  readonly env: string;
  /** What it does, in one sentence, for docs/operations.md. */
  readonly doc: string;
  /** Who sets it. */
  readonly who: SettingGroup;
  /** Unit or form of the value: ms, bytes, URL ... */
  readonly unit?: string;
  /** Never shown in logs, errors, or docs. */
  readonly secret?: boolean;
  /** Comma-separated list. */
  readonly list?: boolean;
  /** Also set for other programs, as by a cluster: a value that can't be used is ignored, with a warning. */
  readonly shared?: boolean;
}

interface SettingProperty extends SettingDescription {
  readonly property: string;
  /** Design type of the property: String, Number, Boolean, or Array. */
  readonly type: unknown;
}

const SETTINGS = Symbol('settings');

/** Reads a property of a config class from the environment; its initializer is the default. */
export function Setting(env: string, doc: string, options: Omit<SettingDescription, 'env' | 'doc'>): PropertyDecorator {
  return (target, property) => {
    const type: unknown = Reflect.getMetadata('design:type', target, property);
    const known = (Reflect.getMetadata(SETTINGS, target) as SettingProperty[] | undefined) ?? [];
    Reflect.defineMetadata(SETTINGS, [...known, { env, doc, ...options, property: String(property), type }], target);
  };
}

/** Like Setting, with the description that another config class gives the same environment variable. */
export function SettingOf(configClass: new () => object, env: string): PropertyDecorator {
  const described = settingsOf(configClass).find((setting) => setting.env === env);
  if (described === undefined) throw new Error(`${configClass.name} does not read ${env}`);
  const { doc, property: _property, type: _type, ...options } = described;
  return Setting(env, doc, options);
}

/** Requires a whole number from `min` to `max`, both included. */
export function Within(min: number, max = Infinity): PropertyDecorator {
  return (target, property) => {
    if (max < Infinity) Max(max)(target, property);
    Min(min)(target, property);
    IsInt()(target, property);
  };
}

/** The settings of a config class, in declaration order; empty for any other class. */
export function settingsOf(configClass: new () => object): readonly SettingProperty[] {
  return (Reflect.getMetadata(SETTINGS, configClass.prototype as object) as SettingProperty[] | undefined) ?? [];
}

/** Requires the path of a file that can be read at startup. */
export function ReadableFile(): PropertyDecorator {
  return ValidateBy({
    name: 'readableFile',
    validator: {
      validate: (path: unknown) => typeof path === 'string' && canRead(path),
      defaultMessage: () => '$property must name a file that can be read',
    },
  });
}

function canRead(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}
