type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The fields that have a value, for Prisma's filters: to its types, one without is none. */
export function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}
