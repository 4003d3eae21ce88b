import type { Schema } from './generated/schema.ts';

/** A person of the user's account. */
export type Person = Schema['TeamPersonView'];
export type PersonChange = Schema['PersonChangeBody'];
export type Invitation = Schema['InvitationView'];
export type OneTimeLink = Schema['LinkView'];

/** The account of the signed-in user. */
export type OwnAccount = Schema['OwnAccountView'];
export type AccountRow = Schema['AccountRowView'];
export type NewAccount = Schema['NewAccountView'];
export type AccountChange = Schema['AccountChangeBody'];
