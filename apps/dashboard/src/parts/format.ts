import { amountIn } from '#contract/money.js';
import type { Money, Spent, Usage } from '../api/types.ts';

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const full = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: 'numeric',
  minute: '2-digit',
  timeZoneName: 'short',
});
const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit', timeZoneName: 'short' });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** "3 minutes ago", "in 2 days". */
export function fromNow(time: string, now = Date.now()): string {
  const seconds = (Date.parse(time) - now) / 1000;
  const unit = UNITS.find(([, length]) => Math.abs(seconds) >= length);
  if (unit === undefined) return 'just now';
  const amount = seconds / unit[1];
  // What was just set to end in 24 hours does so, and not in 23.
  return relative.format(amount > 0 ? Math.round(amount) : Math.trunc(amount), unit[0]);
}

/** A time in the reader's time zone, which it names. */
export function fullTime(time: string | number): string {
  return full.format(new Date(time));
}

/** The same without its day, if that is today. */
export function clockTime(time: string | number): string {
  const date = new Date(time);
  return date.toDateString() === new Date().toDateString() ? clock.format(date) : full.format(date);
}

/** The day of a time, in UTC, as everything counts days. */
export function dayOf(time: string): string {
  return day.format(new Date(time));
}

/** Maximum length of a task's name, in characters. */
const NAME_LENGTH = 60;

/** A task's name: the start of its prompt on one line, with an ellipsis if it is cut. */
export function shortPrompt(prompt: string): string {
  const text = prompt.trim().replace(/\s+/g, ' ');
  const characters = Array.from(text);
  if (characters.length <= NAME_LENGTH) return text;
  // Cut between words, unless the last word is long.
  const space = characters.lastIndexOf(' ', NAME_LENGTH);
  return `${characters.slice(0, space > NAME_LENGTH / 2 ? space : NAME_LENGTH).join('')}…`;
}

/** "$0.04"; "Free" if nothing is charged, "Not charged" if it was refunded, "Unknown" if no price is set. */
export function money(cost: (Money & { readonly state?: string }) | null): string {
  if (cost === null) return 'Free';
  if (cost.state === 'refunded') return 'Not charged';
  return cost.amount === null ? 'Unknown' : amountIn(cost.amount, cost.currency);
}

/** The spend in usage figures. */
export function spentOf({ spend: amount, unpriced_images, unpriced_chats }: Usage['total'], currency: string): Spent {
  return { amount, currency, unpriced_images, unpriced_chats };
}

/** "$1.20"; "Unknown" if no price was known at all. */
export function spent(sum: Spent): string {
  return Number(sum.amount) === 0 && unpriced(sum) !== '' ? 'Unknown' : amountIn(sum.amount, sum.currency);
}

/** What a sum leaves out: "3 images and 1 chat without a price"; empty if nothing. */
export function unpriced({
  unpriced_images: images,
  unpriced_chats: chats,
}: Omit<Spent, 'amount' | 'currency'>): string {
  const parts = [counted(images, 'image'), counted(chats, 'chat')].filter((part) => part !== '');
  return parts.length === 0 ? '' : `${parts.join(' and ')} without a price`;
}

function counted(count: number, name: string): string {
  return count === 0 ? '' : `${count.toLocaleString('en')} ${name}${count === 1 ? '' : 's'}`;
}

/** "$", "€", "CHF ": the prefix of amounts in the currency. */
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

/** How long something has lasted, as a clock says it: "42 s", "3 min 20 s", "1 h 5 min". */
export function clockSpan(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The rest of a wait, in whole seconds: "40 s". */
export function secondsLeft(milliseconds: number): string {
  return `${Math.ceil(milliseconds / 1000)} s`;
}

/** "2048x1152" as "2048 × 1152". */
export function dimensions(size: string): string {
  return size.replace('x', ' × ');
}
