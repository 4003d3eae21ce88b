import { InvalidArgumentError, Option } from 'commander';

const MOST = 10_000;

/** Values of the options; undefined = not given. */
export interface PlanOptions {
  readonly apis?: number;
  readonly workers?: number;
  readonly workerPool?: number;
}

/** Options of `doctor` for the planned number of processes. */
export function planOptions(): Option[] {
  return [
    count('--apis <number>', 'planned API processes: checks whether their connections fit Postgres'),
    count('--workers <number>', 'planned worker processes: checked in the same way'),
    count('--worker-pool <number>', 'DATABASE_POOL of workers, if different from the APIs'),
  ];
}

function count(flags: string, description: string): Option {
  return new Option(flags, description).argParser((given) => {
    const value = /^\d{1,5}$/.test(given) ? Number(given) : NaN;
    if (value <= MOST) return value;
    throw new InvalidArgumentError(`It must be a whole number up to ${MOST}.`);
  });
}
