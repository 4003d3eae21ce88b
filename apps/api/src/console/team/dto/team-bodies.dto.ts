import { INVITED_ROLES, ROLES, type InvitedRole, type Role } from '#accounts/person-rules.js';
import { AppError } from '#contract/app-error.js';
import { ChoiceField, FlagField, TextField } from '#contract/field.js';
import { NewEmailField } from '../../sign-in/dto/sign-in-bodies.dto.js';

/** The new admin of an account. */
export class InviteAdminBody {
  @NewEmailField()
  email!: string;
}

/** An invitation: the new user and their role. */
export class InviteBody extends InviteAdminBody {
  @ChoiceField(INVITED_ROLES)
  role!: InvitedRole;
}

/** Absent or null = unchanged; the last enabled owner can't be removed. */
export class PersonChangeBody {
  @ChoiceField(ROLES, { optional: true })
  role?: Role | null;

  @FlagField({ optional: true, description: 'Disabled members are signed out immediately.' })
  disabled?: boolean | null;
}

/** The name of the account or user to delete, typed as a confirmation. */
export class DeletionBody {
  @TextField({ description: 'Exact name of the account or user, as confirmation.' })
  name!: string;
}

/** The user to delete. */
export class PersonDeletionBody extends DeletionBody {
  @FlagField({ optional: true, description: 'Whether to revoke the keys the user created; false by default.' })
  revoke_keys?: boolean | null;
}

/** Throws AppError `invalid_value` unless the typed name matches exactly. */
export function assertTyped(typed: string, name: string): void {
  if (typed.trim() === name.trim()) return;
  throw new AppError('invalid_value', 'Type the name exactly as it is shown.', { param: 'name' });
}
