/**
 * Classes of tokens, each with its own price: text and images that a model reads, cached or not, images and text that it
 * writes, and what the author of an SVG reads and writes.
 */
export const TOKEN_CLASSES = [
  'input',
  'cached_input',
  'image_input',
  'cached_image_input',
  'output',
  'text_output',
  'svg_input',
  'svg_output',
] as const;
export type TokenClass = (typeof TOKEN_CLASSES)[number];

/** Prices of a million tokens by class; docs/billing.md says what a class without one costs. */
export type ClassPrices = Readonly<Record<'input' | 'output', number> & Partial<Record<TokenClass, number>>>;

/** The prices by class, each converted; other members are left out. */
export function classPrices(prices: ClassPrices, convert: (price: number) => number = (price) => price): ClassPrices {
  const priced = TOKEN_CLASSES.map((name) => [name, prices[name]] as const);
  const entries = priced.flatMap(([name, price]) => (price === undefined ? [] : [[name, convert(price)] as const]));
  return Object.fromEntries(entries) as unknown as ClassPrices;
}
