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
    count('--apis <number>', 'APIs that are planned: whether their connections fit Postgres'),
    count('--workers <number>', 'workers that are planned; likewise'),
    count('--worker-pool <number>', 'DATABASE_POOL of workers, where it is not that of the APIs'),
  ];
}

function count(flags: string, description: string): Option {
  return new Option(flags, description).argParser((given) => {
    const value = /^\d{1,5}$/.test(given) ? Number(given) : NaN;
    if (value <= MOST) return value;
    throw new InvalidArgumentError(`It takes a whole number up to ${MOST}.`);
  });
}
