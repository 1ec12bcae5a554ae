/* SPDX-License-Identifier: BSD-3-Clause */
/* openssl.h - the functions of OpenSSL as net/tls*.c call them. The libraries are loaded when the
 * first context is created, so that a server without TLS does not have them in memory (1.7 MB
 * resident, 0.5 of it its own).
 *
 *     SSL_new(ctx)  ->  openssl.SSL_new(ctx)      a table of their addresses, with the headers' types
 *
 * A function that is not in the lists below is an undefined symbol when a program is linked: add it to its
 * list and to the macros behind the lists. Where OpenSSL's headers use inline functions instead of macros
 * (stacks), the functions below have to be called directly. */
#pragma once

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

#include "base/sds.h"

// clang-format off
#define OPENSSL_CRYPTO_FUNCTIONS(X)                                                                         \
    X(ASN1_INTEGER_to_BN) X(ASN1_STRING_to_UTF8) X(ASN1_TIME_to_tm) X(BIO_clear_flags) X(BIO_ctrl)          \
    X(BIO_free) X(BIO_get_data) X(BIO_get_new_index) X(BIO_meth_new) X(BIO_meth_set_ctrl)                   \
    X(BIO_meth_set_read) X(BIO_meth_set_write) X(BIO_new) X(BIO_new_file) X(BIO_s_mem) X(BIO_set_data)      \
    X(BIO_set_flags) X(BIO_set_init) X(BIO_test_flags) X(BN_bn2hex) X(BN_free) X(CRYPTO_free)               \
    X(ERR_clear_error) X(ERR_error_string_n) X(ERR_peek_error) X(EVP_PKEY_free) X(GENERAL_NAMES_free)       \
    X(OPENSSL_sk_num) X(OPENSSL_sk_value) X(PEM_read_X509) X(PEM_read_bio_Parameters)                       \
    X(PEM_write_bio_X509) X(X509_NAME_ENTRY_get_data) X(X509_NAME_get_entry)                                \
    X(X509_NAME_get_index_by_NID) X(X509_free) X(X509_get0_notAfter) X(X509_get0_serialNumber)              \
    X(X509_get_ext_d2i) X(X509_get_subject_name) X(X509_up_ref)

#define OPENSSL_SSL_FUNCTIONS(X)                                                                            \
    X(SSL_CTX_ctrl) X(SSL_CTX_free) X(SSL_CTX_get0_certificate) X(SSL_CTX_load_verify_locations)            \
    X(SSL_CTX_new)                                                                                          \
    X(SSL_CTX_set0_tmp_dh_pkey) X(SSL_CTX_set_cipher_list) X(SSL_CTX_set_ciphersuites)                      \
    X(SSL_CTX_set_default_passwd_cb) X(SSL_CTX_set_default_passwd_cb_userdata)                              \
    X(SSL_CTX_set_default_verify_paths) X(SSL_CTX_set_num_tickets) X(SSL_CTX_set_options)                   \
    X(SSL_CTX_set_session_id_context) X(SSL_CTX_set_timeout) X(SSL_CTX_set_verify)                          \
    X(SSL_CTX_use_PrivateKey_file) X(SSL_CTX_use_certificate_chain_file) X(SSL_ctrl) X(SSL_do_handshake)    \
    X(SSL_free) X(SSL_get1_peer_certificate) X(SSL_get_error) X(SSL_has_pending) X(SSL_new)                 \
    X(SSL_read_ex) X(SSL_set_accept_state) X(SSL_set_bio) X(SSL_set_connect_state) X(SSL_shutdown)          \
    X(SSL_write_ex) X(TLS_client_method) X(TLS_server_method)
// clang-format on

#define OPENSSL_MEMBER(name) __typeof__(&name) name;
extern struct openssl {
    OPENSSL_CRYPTO_FUNCTIONS(OPENSSL_MEMBER)
    OPENSSL_SSL_FUNCTIONS(OPENSSL_MEMBER)
} openssl;
#undef OPENSSL_MEMBER

/* Loads the libraries; to be called before any other function. False: a library or a function is
 * missing, and err says which. */
bool opensslLoad(sds *err);

#ifndef OPENSSL_ITSELF
// clang-format off
#define ASN1_INTEGER_to_BN openssl.ASN1_INTEGER_to_BN
#define ASN1_STRING_to_UTF8 openssl.ASN1_STRING_to_UTF8
#define ASN1_TIME_to_tm openssl.ASN1_TIME_to_tm
#define BIO_clear_flags openssl.BIO_clear_flags
#define BIO_ctrl openssl.BIO_ctrl
#define BIO_free openssl.BIO_free
#define BIO_get_data openssl.BIO_get_data
#define BIO_get_new_index openssl.BIO_get_new_index
#define BIO_meth_new openssl.BIO_meth_new
#define BIO_meth_set_ctrl openssl.BIO_meth_set_ctrl
#define BIO_meth_set_read openssl.BIO_meth_set_read
#define BIO_meth_set_write openssl.BIO_meth_set_write
#define BIO_new openssl.BIO_new
#define BIO_new_file openssl.BIO_new_file
#define BIO_s_mem openssl.BIO_s_mem
#define BIO_set_data openssl.BIO_set_data
#define BIO_set_flags openssl.BIO_set_flags
#define BIO_set_init openssl.BIO_set_init
#define BIO_test_flags openssl.BIO_test_flags
#define BN_bn2hex openssl.BN_bn2hex
#define BN_free openssl.BN_free
#define CRYPTO_free openssl.CRYPTO_free
#define ERR_clear_error openssl.ERR_clear_error
#define ERR_error_string_n openssl.ERR_error_string_n
#define ERR_peek_error openssl.ERR_peek_error
#define EVP_PKEY_free openssl.EVP_PKEY_free
#define GENERAL_NAMES_free openssl.GENERAL_NAMES_free
#define OPENSSL_sk_num openssl.OPENSSL_sk_num
#define OPENSSL_sk_value openssl.OPENSSL_sk_value
#define PEM_read_X509 openssl.PEM_read_X509
#define PEM_read_bio_Parameters openssl.PEM_read_bio_Parameters
#define PEM_write_bio_X509 openssl.PEM_write_bio_X509
#define X509_NAME_ENTRY_get_data openssl.X509_NAME_ENTRY_get_data
#define X509_NAME_get_entry openssl.X509_NAME_get_entry
#define X509_NAME_get_index_by_NID openssl.X509_NAME_get_index_by_NID
#define X509_free openssl.X509_free
#define X509_get0_notAfter openssl.X509_get0_notAfter
#define X509_get0_serialNumber openssl.X509_get0_serialNumber
#define X509_get_ext_d2i openssl.X509_get_ext_d2i
#define X509_get_subject_name openssl.X509_get_subject_name
#define X509_up_ref openssl.X509_up_ref
#define SSL_CTX_ctrl openssl.SSL_CTX_ctrl
#define SSL_CTX_free openssl.SSL_CTX_free
#define SSL_CTX_get0_certificate openssl.SSL_CTX_get0_certificate
#define SSL_CTX_load_verify_locations openssl.SSL_CTX_load_verify_locations
#define SSL_CTX_new openssl.SSL_CTX_new
#define SSL_CTX_set0_tmp_dh_pkey openssl.SSL_CTX_set0_tmp_dh_pkey
#define SSL_CTX_set_cipher_list openssl.SSL_CTX_set_cipher_list
#define SSL_CTX_set_ciphersuites openssl.SSL_CTX_set_ciphersuites
#define SSL_CTX_set_default_passwd_cb openssl.SSL_CTX_set_default_passwd_cb
#define SSL_CTX_set_default_passwd_cb_userdata openssl.SSL_CTX_set_default_passwd_cb_userdata
#define SSL_CTX_set_default_verify_paths openssl.SSL_CTX_set_default_verify_paths
#define SSL_CTX_set_num_tickets openssl.SSL_CTX_set_num_tickets
#define SSL_CTX_set_options openssl.SSL_CTX_set_options
#define SSL_CTX_set_session_id_context openssl.SSL_CTX_set_session_id_context
#define SSL_CTX_set_timeout openssl.SSL_CTX_set_timeout
#define SSL_CTX_set_verify openssl.SSL_CTX_set_verify
#define SSL_CTX_use_PrivateKey_file openssl.SSL_CTX_use_PrivateKey_file
#define SSL_CTX_use_certificate_chain_file openssl.SSL_CTX_use_certificate_chain_file
#define SSL_ctrl openssl.SSL_ctrl
#define SSL_do_handshake openssl.SSL_do_handshake
#define SSL_free openssl.SSL_free
#define SSL_get1_peer_certificate openssl.SSL_get1_peer_certificate
#define SSL_get_error openssl.SSL_get_error
#define SSL_has_pending openssl.SSL_has_pending
#define SSL_new openssl.SSL_new
#define SSL_read_ex openssl.SSL_read_ex
#define SSL_set_accept_state openssl.SSL_set_accept_state
#define SSL_set_bio openssl.SSL_set_bio
#define SSL_set_connect_state openssl.SSL_set_connect_state
#define SSL_shutdown openssl.SSL_shutdown
#define SSL_write_ex openssl.SSL_write_ex
#define TLS_client_method openssl.TLS_client_method
#define TLS_server_method openssl.TLS_server_method
// clang-format on
#endif
