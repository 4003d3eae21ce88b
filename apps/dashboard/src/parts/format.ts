import type { Money } from '../api/types.ts';

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });

/** "3 minutes ago", "in 2 days". */
export function fromNow(time: string, now = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1000;
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  return unit === undefined ? 'just now' : relative.format(Math.trunc(seconds / unit[1]), unit[0]);
}

export function fullTime(time: string | number): string {
  return full.format(new Date(time));
}

export function dayOf(time: string): string {
  return day.format(new Date(time));
}

/** "2026-11-21": the day of a time where the reader is, as fields of dates hold it. */
export function localDay(time: string | number): string {
  const date = new Date(time);
  return [date.getFullYear(), date.getMonth() + 1, date.getDate()]
    .map((part) => String(part).padStart(2, '0'))
    .join('-');
}

/** The first moment of such a day, as ISO 8601 writes it. */
export function startOfDay(day: string): string {
  return new Date(`${day}T00:00:00`).toISOString();
}

/** "USD 0.04"; a dash where nothing is charged or the price is not known. */
export function money(cost: Money | null | undefined): string {
  if (cost?.amount === null || cost?.amount === undefined) return '–';
  return amountIn(cost.amount, cost.currency);
}

/** Cents at least, as many more places as the amount has. */
export function amountIn(amount: string | number, currency: string): string {
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: 6,
  }).format(Number(amount));
}

/** "$", "€", "CHF ": what amounts in the currency begin with. */
export function currencySign(currency: string): string {
  const parts = new Intl.NumberFormat('en', { style: 'currency', currency }).formatToParts(1);
  return parts
    .slice(
      0,
      parts.findIndex(({ type }) => type === 'integer'),
    )
    .map(({ value }) => value)
    .join('');
}

/** "850 ms", "12.4 s", "3 min 20 s". */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** What is left of a wait, in whole seconds: "40 s". */
export function secondsLeft(milliseconds: number): string {
  return `${Math.ceil(milliseconds / 1000)} s`;
}

/** "2048x1152" as "2048 × 1152". */
export function dimensions(size: string): string {
  return size.replace('x', ' × ');
}
