import { ApiProperty } from '@nestjs/swagger';
import { ChoiceField, TextField } from '#contract/field.js';

/** What an MCP client asks its user for (RFC 6749, 7636, and 8707), as it stands in the address of the page. */
export class AuthorizationBody {
  @ChoiceField(['code'])
  response_type!: 'code';

  @TextField({ notEmpty: true, maxLength: 6_000 })
  client_id!: string;

  @TextField({ notEmpty: true, maxLength: 600, description: 'One that the client has registered.' })
  redirect_uri!: string;

  @TextField({ notEmpty: true, maxLength: 100, description: 'SHA-256 of a secret of the client, in base64url.' })
  code_challenge!: string;

  @ChoiceField(['S256'])
  code_challenge_method!: 'S256';

  @TextField({ optional: true, maxLength: 2_000, description: 'Sent back to the client.' })
  state?: string | null;

  @TextField({ optional: true, maxLength: 600, description: 'The address of `/mcp`.' })
  resource?: string | null;
}

/** What the user is asked. */
export class AuthorizationRequestView {
  @ApiProperty({ description: 'What the client calls itself, which nobody has checked.' })
  client!: string;

  @ApiProperty({ example: 'localhost:3118', description: 'Where the user is sent then.' })
  returns_to!: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Name of the user’s key whose limits and budget the client shares; null: none has any.',
  })
  shares_limits_of!: string | null;

  @ApiProperty({ description: 'Address that tells the client that the user refuses.' })
  refuse_url!: string;
}

/** The user has agreed. */
export class AuthorizationView {
  @ApiProperty({ description: 'Address that takes the code to the client.' })
  redirect_url!: string;
}
