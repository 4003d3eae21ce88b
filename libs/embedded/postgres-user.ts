import { chown, stat } from 'node:fs/promises';
import { runCommand } from './run-command.js';
import { SetupError } from './setup-error.js';

/** How to run Postgres, which refuses to run as root. */
export interface PostgresUser {
  readonly wrap: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** `nobody` on every common system. */
const NOBODY = 65_534;

const AS_ROOT: readonly (PostgresUser & { readonly owner: number })[] = [
  // Root outside, nobody inside: it reads everything root can, below a home folder of mode 0700 too.
  { wrap: ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--'], owner: 0 },
  // Containers that forbid user namespaces mostly leave root this capability to hand on.
  {
    wrap: [
      'setpriv',
      `--reuid=${NOBODY}`,
      `--regid=${NOBODY}`,
      '--clear-groups',
      '--inh-caps=+dac_override',
      '--ambient-caps=+dac_override',
    ],
    owner: NOBODY,
  },
  { wrap: [], uid: NOBODY, gid: NOBODY, owner: NOBODY },
];

/**
 * Chooses the first way that works here, and makes the folder and what is in it belong to that user.
 * Throws SetupError when root has no way to run it.
 */
export async function choosePostgresUser(
  folder: string,
  postgres: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<PostgresUser> {
  if (process.geteuid?.() !== 0) return { wrap: [] };
  for (const { owner, ...user } of AS_ROOT) {
    if (await works(user, owner, folder, postgres, env)) return user;
  }
  throw new SetupError(
    'Postgres refuses to run as root, and this system lets root neither make a user namespace nor lend its rights ' +
      'to another user. Start as an ordinary user, or give the address of a Postgres server in DATABASE_URL.',
  );
}

async function works(
  user: PostgresUser,
  owner: number,
  folder: string,
  postgres: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  if ((await stat(folder)).uid !== owner) {
    await chown(folder, owner, owner);
    await runCommand(['chown', '-R', `${owner}:${owner}`, folder], { timeoutMs: 60_000 });
  }
  const probe = 'test -w "$1" && test -x "$1" && exec "$2" --version';
  const command = [...user.wrap, 'sh', '-c', probe, 'sh', folder, postgres];
  return (await runCommand(command, { cwd: '/', env, timeoutMs: 10_000, uid: user.uid, gid: user.gid })).ok;
}
