import type { Schema } from './generated/schema.ts';

/** Somebody of one's own account. */
export type Person = Schema['TeamPersonView'];
export type PersonChange = Schema['PersonChangeBody'];
export type Invitation = Schema['InvitationView'];
export type OneTimeLink = Schema['LinkView'];

/** The account of whoever is signed in. */
export type OwnAccount = Schema['OwnAccountView'];
export type AccountRow = Schema['AccountRowView'];
export type NewAccount = Schema['NewAccountView'];
export type AccountChange = Schema['AccountChangeBody'];
