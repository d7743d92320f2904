-- Makes the gateways' database, and a user that owns it and nothing else, when Postgres starts for the first time. The gateways make the
-- tables themselves.
\set password `cat /run/secrets/database_password`
CREATE ROLE model_gateway LOGIN PASSWORD :'password';
CREATE DATABASE model_gateway OWNER model_gateway;
REVOKE ALL ON DATABASE model_gateway FROM PUBLIC;
