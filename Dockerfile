# Build: everything the compiler needs.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund --workspaces=false
COPY tsconfig.json ./
COPY scripts ./scripts
COPY src ./src
RUN node scripts/build.mjs --installed && npm prune --omit=dev --ignore-scripts --workspaces=false

# Run: the program, its dependencies, and a PID 1 that reaps what stdio servers leave behind.
FROM node:24-slim
LABEL org.opencontainers.image.title="cardea" \
      org.opencontainers.image.description="An MCP gateway: any host with any server of any revision" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN apt-get update && apt-get install -y --no-install-recommends tini && rm -rf /var/lib/apt/lists/* \
    && mkdir -p /data /home/node && chown 1000:1000 /data /home/node
WORKDIR /app
ENV NODE_ENV=production HOME=/home/node CARDEA_CONFIG=/etc/cardea/cardea.jsonc
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
USER 1000:1000
EXPOSE 8080 8081
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.CARDEA_ADMIN_PORT || 8081) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["tini", "--", "node", "/app/dist/main.js"]
CMD ["serve"]
