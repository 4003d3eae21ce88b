import type { Usage } from '../../api/types.ts';

/** The figures of a day, of all groups together. */
interface DayFigures {
  /** Its first moment, in UTC. */
  readonly time: string;
  readonly images: number;
  readonly failed: number;
  readonly spend: number;
}

const DAY_MS = 86_400_000;
const DAYS = 7;

/** The last seven days in UTC, oldest first, also those without requests. */
export function weekOf({ data }: Pick<Usage, 'data'>, now = Date.now()): DayFigures[] {
  const today = new Date(now).setUTCHours(0, 0, 0, 0);
  return Array.from({ length: DAYS }, (_, index) => {
    const start = today - (DAYS - 1 - index) * DAY_MS;
    const rows = data.filter(({ time }) => Date.parse(time) === start);
    return {
      time: new Date(start).toISOString(),
      images: rows.reduce((sum, row) => sum + row.images, 0),
      failed: rows.reduce((sum, row) => sum + row.failed, 0),
      spend: rows.reduce((sum, row) => sum + Number(row.spend), 0),
    };
  });
}
