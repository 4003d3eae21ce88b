import { applyDecorators } from '@nestjs/common';
import { ChoiceField, TextField, type FieldOptions } from '#contract/field.js';
import type { FieldProblem } from '#contract/field-rule.js';
import { textProblem } from '#contract/text-rules.js';
import { LINK_PURPOSES, type LinkPurpose } from '#accounts/link-store.js';
import { newEmailOf, storedEmailOf } from '#accounts/person-rules.js';
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '#accounts/passwords.js';
import { NormalizedBy } from '../../../common/contract-fields.js';
import { NameField } from '../../dto/name-body.dto.js';

const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Validates and normalizes an email address, in the same way for every body. */
const addressField = (read: (value: unknown) => string | undefined, options: FieldOptions = {}) =>
  applyDecorators(
    NormalizedBy((value) => read(value) ?? value),
    TextField({ ...options, rule: (value, property) => emailProblem(read(value), property) }),
  );
/** The email address of a user. */
const EmailField = () => addressField(storedEmailOf);
/** An email address for a new user. */
export const NewEmailField = (options: FieldOptions = {}) => addressField(newEmailOf, options);
/** A password of a user. */
export const PasswordField = () => TextField({ rule: passwordProblem });
const NewPasswordField = () => TextField({ schema: { minLength: MIN_PASSWORD_LENGTH }, rule: newPasswordProblem });

function emailProblem(email: string | undefined, property: string): FieldProblem | undefined {
  if (email !== undefined) return undefined;
  return { code: 'invalid_value', message: `${property} must be an email address` };
}

function passwordProblem(value: unknown, property: string): FieldProblem | undefined {
  return textProblem(value, property, MAX_PASSWORD_LENGTH);
}

function newPasswordProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && [...value].length < MIN_PASSWORD_LENGTH) {
    return { code: 'invalid_value', message: `${property} must have at least ${MIN_PASSWORD_LENGTH} characters` };
  }
  return passwordProblem(value, property);
}

function tokenProblem(value: unknown, property: string): FieldProblem | undefined {
  if (typeof value === 'string' && TOKEN.test(value)) return undefined;
  return { code: 'invalid_value', message: `${property} must be the token of a link` };
}

/** Email address and password; errors never say which one was wrong. */
export class SignInBody {
  @EmailField()
  email!: string;

  @PasswordField()
  password!: string;
}

/** The password of a signed-in user, which proves that they, and not a thief of their session, make a change. */
export class ProofBody {
  @PasswordField()
  password!: string;
}

/** The email address of a forgotten password. */
export class ForgotPasswordBody {
  @EmailField()
  email!: string;
}

/** A one-time link that is accepted by signing in with the provider. */
export class LinkBody {
  @TextField({ description: 'The part of the link after #token=.', rule: tokenProblem })
  token!: string;
}

/** The account to open. */
export class SwitchBody {
  @TextField()
  account_id!: string;
}

/** A link and its purpose: its status can be checked before it is used. */
export class CheckLinkBody extends LinkBody {
  @ChoiceField(LINK_PURPOSES)
  purpose!: LinkPurpose;
}

/** A link that sets a password. */
export class ResetPasswordBody extends LinkBody {
  @NewPasswordField()
  password!: string;
}

/** The token of an invitation, with the name and password of the new user. */
export class JoinBody extends ResetPasswordBody {
  @NameField()
  name!: string;
}

/** The first user of an installation, with the token of their link. */
export class FirstAdminBody extends JoinBody {
  @NewEmailField()
  email!: string;
}

/** The new password, and the current one as proof. */
export class ChangePasswordBody {
  @PasswordField()
  current_password!: string;

  @NewPasswordField()
  password!: string;
}
