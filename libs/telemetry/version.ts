/** The version of the product, as package.json has it. */
export const VERSION = '1.0.0';
