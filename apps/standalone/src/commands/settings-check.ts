import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type SettingsReport } from '#config/load-config.js';
import { PACKAGE_ROOT } from '#config/package.js';
import { runCommand } from '#embedded/run-command.js';
import { SetupError } from '#embedded/setup-error.js';
import type { Role } from '../platform/role-process.js';

type Environment = Readonly<Record<string, string | undefined>>;

const ROLES: readonly Role[] = ['api', 'worker'];
const TIMEOUT_MS = 30_000;
/** Values that `npm start` or the deployment adds. Whether those work is not checked here. */
const ADDED = {
  DATABASE_URL: 'postgresql://localhost/darkroom',
  REDIS_URL: 'redis://localhost',
  SECRET_KEY: randomBytes(32).toString('hex'),
  PUBLIC_URL: 'http://localhost',
};

/**
 * Checks the settings as the API and the worker would, without duplicates. Apps do not import one another, so it runs
 * each of them. Throws SetupError when one can't answer.
 */
export async function checkSettings(env: Environment, signal?: AbortSignal): Promise<SettingsReport> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value?.trim() !== ''));
  const reports = await Promise.all(ROLES.map((role) => ask(role, { ...ADDED, ...given }, signal)));
  const unknown = new Map(reports.flatMap((report) => report.unknown.map((one) => [one.name, one] as const)));
  return { problems: [...new Set(reports.flatMap(({ problems }) => problems))], unknown: [...unknown.values()] };
}

async function ask(role: Role, env: Environment, signal: AbortSignal | undefined): Promise<SettingsReport> {
  const main = join(PACKAGE_ROOT, 'dist', 'bin', `${role}.js`);
  const command = [process.execPath, main, 'settings'];
  const { ok, stdout, reason } = await runCommand(command, { env, timeoutMs: TIMEOUT_MS, signal });
  if (!ok) throw new SetupError(`The settings of the ${role} can't be checked: ${reason}`);
  return JSON.parse(stdout) as SettingsReport;
}
