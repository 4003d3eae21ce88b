/** The URL of a service started by `npm test`. Throws when the tests were started in another way. */
export function serviceAddress(name: 'TEST_POSTGRES_URL' | 'TEST_REDIS_URL' | 'TEST_TEMPLATE_DATABASE'): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is missing: run this test through \`npm test -- <path>\``);
  return value;
}
