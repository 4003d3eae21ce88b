import { Prisma } from './generated/client.js';

/** Whether a row was refused because another one has its unique values. */
export function isUniqueViolation(error: unknown): boolean {
  return error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002';
}
