import { chown, stat } from 'node:fs/promises';
import { runCommand } from './run-command.js';
import { SetupError } from './setup-error.js';

/** The user to run Postgres as, since it refuses to run as root. */
export interface PostgresUser {
  readonly wrap: readonly string[];
  readonly uid?: number;
  readonly gid?: number;
}

/** Uid and gid of `nobody` on common systems. */
const NOBODY = 65_534;

const AS_ROOT: readonly (PostgresUser & { readonly owner: number })[] = [
  // Root outside, nobody inside: the process can read everything root can, even below a home folder with mode 0700.
  { wrap: ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`, '--'], owner: 0 },
  // Containers that forbid user namespaces usually let root pass on this capability.
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
 * Chooses the first user that works here, and makes it the owner of the folder and its contents. Throws SetupError when
 * root has no way to run Postgres.
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
      'to another user. Start as an ordinary user, or set DATABASE_URL to use a Postgres server.',
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
