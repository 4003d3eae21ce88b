import { Get, Inject, Patch, Post, Req } from '@nestjs/common';
import { ApiBody, ApiProperty, ApiPropertyOptional, ApiResponse } from '@nestjs/swagger';
import { IsBoolean, IsDefined, IsIn, IsOptional, IsString, Matches } from 'class-validator';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { Database } from '#database/database.js';
import { AuditLog } from '#people/audit-log.js';
import { PersonStore, ROLES, type Person, type Role } from '#people/person-store.js';
import { createSignInLink } from '#people/sign-in-links.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { ApiConfig, publicUrlOf } from '../http/api.config.js';
import { consoleBody } from './console-body.js';
import { ConsoleController } from './console-controller.js';
import { ForRole } from './roles.guard.js';
import { sessionOf } from './session.guard.js';
import { EMAIL } from './sign-in-bodies.js';

const IsRole = () => IsIn(ROLES, { message: `role must be one of ${ROLES.join(', ')}` });

class InviteBody {
  @ApiProperty()
  @IsDefined()
  @IsString()
  @Matches(EMAIL, { message: 'email must be an e-mail address' })
  email!: string;

  @ApiProperty({ enum: ROLES })
  @IsDefined()
  @IsRole()
  role!: Role;
}

class PersonChangeBody {
  @ApiPropertyOptional({ enum: ROLES })
  @IsOptional()
  @IsRole()
  role?: Role | null;

  @ApiPropertyOptional({ description: 'Whoever is disabled is signed out at once.' })
  @IsOptional()
  @IsBoolean()
  disabled?: boolean | null;
}

const personView = ({ id, email, name, role, createdAt, disabledAt }: Person) => ({
  ...{ id, email, name, role, created_at: createdAt.toISOString() },
  disabled_at: disabledAt?.toISOString() ?? null,
});

/** The people of an account. */
@ConsoleController('Team')
@ForRole('admin')
export class TeamController {
  constructor(
    @Inject(PersonStore) private readonly people: PersonStore,
    @Inject(AuditLog) private readonly audit: AuditLog,
    @Inject(Database) private readonly database: Database,
    @Inject(SecretsConfig) private readonly secrets: SecretsConfig,
    @Inject(ApiConfig) private readonly config: ApiConfig,
  ) {}

  @Get('people')
  @ApiResponse({ status: 200, description: 'data: people with id, email, name, role, created_at and disabled_at.' })
  async list(@Req() request: FastifyRequest) {
    return { data: (await this.people.list(sessionOf(request).accountId)).map(personView) };
  }

  @Post('people')
  @ApiBody({ type: InviteBody })
  @ApiResponse({ status: 201, description: 'link: works once, for 24 hours; shown only now.' })
  async invite(@Req() request: FastifyRequest): Promise<{ link: string }> {
    const { accountId, personId } = sessionOf(request);
    const { email: given, role } = consoleBody(InviteBody, request.body);
    const email = given.toLowerCase();
    if ((await this.people.forSignIn(email)) !== undefined) {
      throw new AppError('already_exists', 'Somebody has this e-mail address already.', { param: 'email' });
    }
    const { pool } = this.database;
    const link = await createSignInLink(pool, this.secrets.secretKey, publicUrlOf(this.config), {
      ...{ purpose: 'invite', accountId, email, role },
    });
    await this.audit.write({ accountId, personId, action: 'person.invited', target: email, details: { role } });
    return { link };
  }

  @Patch('people/:id')
  @ApiBody({ type: PersonChangeBody })
  @ApiResponse({ status: 200, description: 'The person, as in the list.' })
  async change(@Req() request: FastifyRequest) {
    const { accountId, personId } = sessionOf(request);
    const { id } = request.params as { id: string };
    const { role, disabled } = consoleBody(PersonChangeBody, request.body);
    if (id === personId) throw new AppError('invalid_value', 'Another admin must change you.');
    const changes = { role: role ?? undefined, disabled: disabled ?? undefined };
    const person = await this.people.change(accountId, id, changes);
    if (person === undefined) throw new AppError('not_found', 'There is no such person.');
    const details = { name: person.name, email: person.email, ...changes };
    await this.audit.write({ accountId, personId, action: 'person.changed', target: id, details });
    return personView(person);
  }
}
